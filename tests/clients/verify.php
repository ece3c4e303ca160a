<?php

/** True when one of the signatures fits and the request is not older than five minutes. */
function verify(string $secret, array $headers, string $body): bool
{
    $timestamp = $headers['webhook-timestamp'] ?? '';
    if (!ctype_digit($timestamp) || abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $signed = ($headers['webhook-id'] ?? '') . '.' . $timestamp . '.' . $body;
    $wanted = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    foreach (explode(' ', $headers['webhook-signature'] ?? '') as $given) {
        if (hash_equals($wanted, $given)) {
            return true;
        }
    }
    return false;
}

// --- what follows is not part of the sample
foreach (json_decode(file_get_contents($argv[1]), true) as $case) {
    echo verify($case['secret'], $case['headers'], $case['body']) ? "yes\n" : "no\n";
}

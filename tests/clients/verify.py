import base64, hashlib, hmac, time

def verify(secret: str, headers: dict, body: bytes) -> bool:
    """True when one of the signatures fits and the request is not older than five minutes."""
    timestamp = headers["webhook-timestamp"]
    if not timestamp.isascii() or not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([headers["webhook-id"].encode(), timestamp.encode(), body])
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(given, wanted) for given in headers["webhook-signature"].split(" "))

# --- what follows is not part of the sample

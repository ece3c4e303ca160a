require "openssl"

# True when one of the signatures fits and the request is not older than five minutes.
def verify(secret, headers, body)
  timestamp = headers["webhook-timestamp"].to_s
  return false unless timestamp.match?(/\A\d+\z/) && (Time.now.to_i - timestamp.to_i).abs <= 300
  key = secret.delete_prefix("whsec_").unpack1("m")
  signed = "#{headers["webhook-id"]}.#{timestamp}.".b + body.b
  wanted = "v1," + [OpenSSL::HMAC.digest("SHA256", key, signed)].pack("m0")
  headers["webhook-signature"].to_s.split(" ").any? { |given| OpenSSL.secure_compare(given, wanted) }
end

# --- what follows is not part of the sample
require "json"
JSON.parse(File.read(ARGV[0])).each do |one|
  puts verify(one["secret"], one["headers"], one["body"]) ? "yes" : "no"
end

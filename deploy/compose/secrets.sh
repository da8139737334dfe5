#!/bin/sh
# Makes the secrets of compose.yaml in the folder "secrets" beside it, with a certificate for the domain that is signed by
# nobody else: replace certificate.pem and key.pem by those of your authority. Compose reads the domain from ".env". Alerts
# go to the second address, as JSON (the webhooks of Alertmanager). Never overwrites a file.
#
#   deploy/compose/secrets.sh api.example.com https://chat.example.com/hooks/operators
set -eu
domain=${1:?"Usage: secrets.sh DOMAIN [ADDRESS-FOR-ALERTS]"}
webhook=${2:-}
case $webhook in
  *[\"\\]* | *[[:space:]]*) echo "$webhook is no address" >&2; exit 1 ;;
esac
cd "$(dirname "$0")"
mkdir -p secrets
# Compose mounts the files as they are, and the users in the containers must be able to read them. Nobody else on this
# machine gets into the folder.
chmod 700 secrets

# The value comes from standard input.
make() {
  if [ -e "$1" ]; then
    echo "$1 is there already"
    cat >/dev/null
  else
    tr -d '\n' >"$1"
    chmod 644 "$1"
    echo "$1"
  fi
}

echo "DOMAIN=$domain" | make .env
openssl rand -hex 24 | make secrets/database-password
echo "postgres://content:$(cat secrets/database-password)@postgres:5432/content" | make secrets/database-url
openssl rand -base64 48 | make secrets/secret-key
openssl rand -hex 24 | make secrets/metrics-token
openssl rand -hex 12 | make secrets/grafana-password
if [ -n "$webhook" ]; then
  receiver="{\"name\":\"operators\",\"webhook_configs\":[{\"url\":\"$webhook\"}]}"
else
  receiver='{"name":"operators"}'
fi
# JSON is YAML. A secret: whoever has the address can write there.
made=$(printf '{"route":{"receiver":"operators","group_by":["alertname"],"group_wait":"30s","group_interval":"5m","repeat_interval":"4h"},"receivers":[%s]}' "$receiver" |
  make secrets/alertmanager.yml)
echo "$made"
if [ -z "$webhook" ] && [ "$made" = secrets/alertmanager.yml ]; then
  echo 'No address for alerts: nobody is told of them. Add webhook_configs, or email_configs, to secrets/alertmanager.yml.' >&2
fi
if [ -e secrets/key.pem ]; then
  echo 'secrets/key.pem is there already'
else
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
    -subj "/CN=$domain" -addext "subjectAltName=DNS:$domain,DNS:nginx" \
    -keyout secrets/key.pem -out secrets/certificate.pem 2>/dev/null
  chmod 644 secrets/key.pem
  echo 'secrets/key.pem, secrets/certificate.pem'
fi

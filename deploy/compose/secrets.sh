#!/bin/sh
# Makes the secrets of compose.yaml in the folder "secrets" beside it, with a certificate for the domain that is signed by
# nobody else: replace certificate.pem and key.pem by those of your authority. Never overwrites a file.
#
#   deploy/compose/secrets.sh api.example.com
set -eu
domain=${1:?"Usage: secrets.sh DOMAIN"}
cd "$(dirname "$0")"
mkdir -p secrets
# Compose mounts the files as they are, and the users in the containers must be able to read them. Nobody else on this
# machine gets into the folder.
chmod 700 secrets
cd secrets

# The value comes from standard input.
make() {
  if [ -e "$1" ]; then
    echo "secrets/$1 is there already"
    cat >/dev/null
  else
    tr -d '\n' >"$1"
    chmod 644 "$1"
    echo "secrets/$1"
  fi
}

openssl rand -hex 24 | make database-password
echo "postgres://content:$(cat database-password)@postgres:5432/content" | make database-url
openssl rand -base64 48 | make secret-key
openssl rand -hex 24 | make metrics-token
openssl rand -hex 12 | make grafana-password
if [ -e key.pem ]; then
  echo 'secrets/key.pem is there already'
else
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
    -subj "/CN=$domain" -addext "subjectAltName=DNS:$domain,DNS:nginx" \
    -keyout key.pem -out certificate.pem 2>/dev/null
  chmod 644 key.pem
  echo 'secrets/key.pem, secrets/certificate.pem'
fi

#!/bin/bash
# Makes what compose.yaml mounts as secrets, in deploy/secrets: an authority with certificates for databases, NATS and vault,
# passwords, the addresses that hold them, and the service's keys. Run it once, as root, because each file belongs to the one
# user that reads it. It never writes over what is there. Keep a copy of the folder: without its keys the data is lost.
#
#   sudo deploy/compose/prepare.sh
set -euo pipefail
umask 077
cd "$(dirname "$0")/.."
if [[ -e secrets ]]; then
  echo "deploy/secrets is there already; move it away to begin anew." >&2
  exit 1
fi
mkdir secrets
# The command line is that of the image, unless SWITCHYARD names another, such as "npx switchyard".
if [[ -n ${SWITCHYARD:-} ]]; then
  switchyard() { $SWITCHYARD "$@"; }
  inside=.
else
  switchyard() { docker run --rm --user 0 --volume "$PWD:/secrets" switchyard:0.1.0 "$@"; }
  inside=/secrets
fi
cd secrets

# user id in the container, mode, files
own() { chown "$1:$1" "${@:3}" && chmod "$2" "${@:3}"; }
service=10001 database=999 root=0

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 3650 -subj "/CN=switchyard authority" \
  -addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign -keyout ca.key -out ca.crt 2>/dev/null
certificate() { # name, owner
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 1095 -out "$1.crt" 2>/dev/null \
    -extfile <(printf 'subjectAltName=DNS:%s\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature' "$1")
  rm "$1.csr"
  own "$2" 400 "$1.key" "$1.crt"
}
for server in postgres vault-postgres; do certificate $server $database; done
for server in nats-1 nats-2 nats-3; do certificate $server $root; done
certificate vault $service

# Begins with a letter, so that no configuration takes it for a number.
password() { printf 'p%s' "$(openssl rand -hex 24)"; }
address() { # role, password, server, database
  printf 'postgres://%s:%s@%s/%s?sslmode=verify-full&sslrootcert=/run/secrets/ca.crt' "$1" "$2" "$3" "$4"
}
for server in postgres vault-postgres; do password > $server-owner-password; done
database() { # short name, server
  password > "$2-switchyard_$1"
  address "switchyard_$1" "$(<"$2-switchyard_$1")" "$2" "switchyard_$1" > "$1-database-url"
  address postgres "$(<"$2-owner-password")" "$2" "switchyard_$1" > "$1-owner-url"
}
for name in accounts test live; do database $name postgres; done
database vault vault-postgres
own $database 400 ./*-owner-password ./*postgres-switchyard_*

for name in test live sys; do password > $name-nats-password; done
# Quotes within quotes: nats-server wants its own around what has a colon.
cat > nats.env <<END
NATS_LISTEN='"0.0.0.0:4222"'
NATS_MONITOR_LISTEN='"127.0.0.1:8222"'
NATS_ROUTE_LISTEN='"0.0.0.0:6222"'
NATS_ROUTE_1='"tls://nats-1:6222"'
NATS_ROUTE_2='"tls://nats-2:6222"'
NATS_ROUTE_3='"tls://nats-3:6222"'
NATS_STORE_FOLDER=/data
NATS_TLS_CERT_FILE=/run/secrets/nats.crt
NATS_TLS_KEY_FILE=/run/secrets/nats.key
NATS_TLS_CA_FILE=/run/secrets/nats-ca.crt
NATS_TLS_VERIFY_CLIENTS=false
NATS_TEST_PASSWORD_HASH=$(<test-nats-password)
NATS_LIVE_PASSWORD_HASH=$(<live-nats-password)
NATS_SYS_PASSWORD_HASH=$(<sys-nats-password)
END
# The one file that compose itself reads, as whoever runs it; all others it has the engine mount.
chown "${SUDO_UID:-0}" nats.env

for environment in test live; do
  switchyard server-keys generate --environment $environment --out "$inside/keys-$environment.json"
done
switchyard server-keys generate-accounts --out "$inside/keys-accounts.json"
own $service 400 ./*keys-*.json ./*-url ./*-nats-password
# The authority's key signs further certificates: keep it away from here.
chmod 444 ca.crt
chmod 711 .
echo "deploy/secrets is ready. Move ca.key to where only you are."

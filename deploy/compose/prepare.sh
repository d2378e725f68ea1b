#!/bin/bash
# Makes what compose.yaml mounts as secrets, in deploy/secrets: an authority with certificates for databases, NATS and vault,
# passwords, the addresses that hold them, and the service's keys. Run it as root, because each file belongs to the one user
# that reads it. It makes what is missing and touches nothing that is there: run it again when a newer version wants more, or
# after a run that broke off. Keep a copy of the folder: without its keys the data is lost. So keys and passwords that an
# installation uses are never made anew, unless MAKE_ANEW names the files: sudo MAKE_ANEW="a b" deploy/compose/prepare.sh
#
#   sudo deploy/compose/prepare.sh
set -euo pipefail
umask 077
cd "$(dirname "$0")/.."
[[ -d secrets ]] || mkdir -m 711 secrets
# The command line is that of the image, unless SWITCHYARD names another, such as "npx switchyard".
if [[ -n ${SWITCHYARD:-} ]]; then
  switchyard() { command $SWITCHYARD "$@"; }
  inside=.
else
  switchyard() { docker run --rm --user 0 --volume "$PWD:/secrets" switchyard:0.1.0 "$@"; }
  inside=/secrets
fi
cd secrets

# Files are made in here and then moved, so that a run that breaks off leaves no half of one.
rm -rf .made && mkdir .made
trap 'rm -rf "$PWD/.made"' EXIT

made=()
# Made last, so it says that everything was there once.
isInUse=
[[ ! -e nats.env ]] || isInUse=yes

new() { # file, the file that shows that it was in use
  [[ ! -e $1 && -n $isInUse && -e $2 && " ${MAKE_ANEW:-} " != *" $1 "* ]] || return 0
  echo "deploy/secrets misses $1, which the installation uses: bring it back. A new one does not fit its data: MAKE_ANEW=$1 makes one all the same." >&2
  exit 1
}

put() { # user id in the container, mode, files; what is looked for before they are made comes last
  local file
  for file in "${@:3}"; do
    [[ ! -e $file ]] && continue
    echo "deploy/secrets has $file, but not what belongs to it: bring that back, or move $file away." >&2
    exit 1
  done
  (cd .made && chown "$1:$1" "${@:3}" && chmod "$2" "${@:3}" && mv "${@:3}" ..)
  made+=("${@:3}")
}
keep() { # user id in the container, mode, file, command that prints it
  [[ ! -e $3 ]] || return 0
  "${@:4}" > ".made/$3"
  put "$1" "$2" "$3"
}
service=10001 database=999 root=0

authority() { # file, name; its key may have been moved away
  [[ ! -e $1.crt ]] || return 0
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 3650 -subj "/CN=$2" -keyout ".made/$1.key" \
    -addext basicConstraints=critical,CA:TRUE,pathlen:0 -addext keyUsage=critical,keyCertSign -out ".made/$1.crt" 2>/dev/null
  put $root 600 "$1.key"
  put $root 444 "$1.crt"
}
authority ca "switchyard authority"
# One more, so that no server's certificate opens the vault.
authority vault-clients-ca "switchyard vault clients"
certificate() { # name, owner, authority
  local by="${3:-ca}"
  [[ ! -e $1.key || ! -e $1.crt ]] || return 0
  if [[ ! -e $by.key ]]; then
    echo "deploy/secrets has no $1.crt, and no $by.key to sign one with: bring $by.key back, and run this again." >&2
    exit 1
  fi
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/CN=$1" -keyout ".made/$1.key" -out .made/csr 2>/dev/null
  openssl x509 -req -in .made/csr -CA "$by.crt" -CAkey "$by.key" -CAcreateserial -days 1095 -out ".made/$1.crt" 2>/dev/null \
    -extfile <(printf 'subjectAltName=DNS:%s\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature' "$1")
  put "$2" 400 "$1.key" "$1.crt"
}
for server in postgres vault-postgres; do certificate $server $database; done
for server in nats-1 nats-2 nats-3; do certificate $server $root; done
certificate vault $service
certificate vault-client $service vault-clients-ca
# By its name the vault opens to it the keys of wallets only.
certificate vault-dashboard $service vault-clients-ca

# Begins with a letter, so that no configuration takes it for a number.
password() {
  local random
  random=$(openssl rand -hex 24)
  printf 'p%s' "$random"
}
address() { # role, password, server, database
  printf 'postgres://%s:%s@%s/%s?sslmode=verify-full&sslrootcert=/run/secrets/ca.crt' "$1" "$2" "$3" "$4"
}
for name in accounts test live; do new postgres-owner-password $name-owner-url; done
new vault-postgres-owner-password vault-owner-url
for server in postgres vault-postgres; do keep $database 400 $server-owner-password password; done
database() { # short name, server
  new "$2-switchyard_$1" "$1-database-url"
  keep $database 400 "$2-switchyard_$1" password
  keep $service 400 "$1-database-url" address "switchyard_$1" "$(<"$2-switchyard_$1")" "$2" "switchyard_$1"
  keep $service 400 "$1-owner-url" address postgres "$(<"$2-owner-password")" "$2" "switchyard_$1"
}
for name in accounts test live; do database $name postgres; done
database vault vault-postgres

for name in test live sys; do new $name-nats-password nats.env; done
for name in test live sys; do keep $service 400 $name-nats-password password; done
# Quotes within quotes: nats-server wants its own around what has a colon.
nats_settings() {
  cat <<END
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
}
server_keys() { # file, arguments; the vault's file comes beside those of an environment
  [[ ! -e $1 ]] || return 0
  [[ -e vault-$1 ]] || new "$1" nats.env
  switchyard server-keys "${@:2}" --out "$inside/.made/$1"
  local vault_keys="vault-$1"
  [[ -e .made/$vault_keys ]] || vault_keys=
  put $service 400 ${vault_keys:+"$vault_keys"} "$1"
}
for environment in test live; do
  server_keys "keys-$environment.json" generate --environment $environment
done
server_keys keys-accounts.json generate-accounts
# The one file that compose itself reads, as whoever runs it; all others it has the engine mount.
keep "${SUDO_UID:-0}" 600 nats.env nats_settings
if [[ ${#made[@]} -gt 0 ]]; then echo "Made ${made[*]}."; else echo "Nothing was missing."; fi
echo "deploy/secrets is ready. Move ca.key and vault-clients-ca.key to where only you are."

#!/bin/bash
# Runs once, when the data folder is made: a database and a runtime role for each name in DATABASES, with its password from
# the secret of that name.
set -euo pipefail
for name in $DATABASES; do
  PASSWORD="$(<"/run/secrets/$name")" psql --username postgres --variable=name="$name" --file /provision.sql
done
psql --username postgres --command 'REVOKE ALL ON DATABASE postgres FROM PUBLIC'

{{/* Of each role: its ports, the one that serves its host, and its secret. The vault alone has the vault's. */}}
{{- define "switchyard.facts" -}}
vault: {host: vault, door: cards, ports: {cards: 8082, grpc: 8083}, secret: switchyard-vault}
worker: {ports: {}, secret: switchyard-service}
edge: {host: api, door: public, ports: {public: 8080, grpc: 8081}, secret: switchyard-service}
dashboard: {host: dashboard, door: dashboard, ports: {dashboard: 8084}, secret: switchyard-service}
{{- end -}}

{{- define "switchyard.role" -}}
{{ get (include "switchyard.facts" . | fromYaml) .Values.role | toYaml }}
{{- end -}}

{{- define "switchyard.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}{{ hasPrefix "@" $tag | ternary "" ":" }}{{ $tag }}
{{- end -}}

{{- define "switchyard.labels" -}}
{app.kubernetes.io/name: switchyard, app.kubernetes.io/component: {{ . }}}
{{- end -}}

{{- define "switchyard.pod" -}}
automountServiceAccountToken: false
# A service called vault would otherwise set variables that begin like ours.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "switchyard.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* A volume of a secret: 0440 in octal, for root and for the group, which is fsGroup. */}}
{{- define "switchyard.secret" -}}
secret: {secretName: {{ . }}, defaultMode: 288}
{{- end -}}

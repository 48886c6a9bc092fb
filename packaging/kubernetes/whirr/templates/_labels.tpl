{{- define "whirr.labels" -}}
app.kubernetes.io/name: whirr
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

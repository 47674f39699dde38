import type { OtlpSignal } from './response.encoder';

/** The name of a member in JSON, and its original name in protobuf. */
export type MemberName = readonly [name: string, original: string];

/** The levels of lists in a request. */
export type EnvelopeLevel = 'resources' | 'scopes' | 'items';

/** The name of a request and its lists. */
export type EnvelopeNames = { readonly request: string } & Readonly<Record<EnvelopeLevel, MemberName>>;

export const ENVELOPE_NAMES: Readonly<Record<OtlpSignal, EnvelopeNames>> = {
  traces: {
    request: 'ExportTraceServiceRequest',
    resources: ['resourceSpans', 'resource_spans'],
    scopes: ['scopeSpans', 'scope_spans'],
    items: ['spans', 'spans'],
  },
  logs: {
    request: 'ExportLogsServiceRequest',
    resources: ['resourceLogs', 'resource_logs'],
    scopes: ['scopeLogs', 'scope_logs'],
    items: ['logRecords', 'log_records'],
  },
  metrics: {
    request: 'ExportMetricsServiceRequest',
    resources: ['resourceMetrics', 'resource_metrics'],
    scopes: ['scopeMetrics', 'scope_metrics'],
    items: ['metrics', 'metrics'],
  },
};

export const SIGNALS = Object.keys(ENVELOPE_NAMES) as OtlpSignal[];

/** Describes a request that was sent to the path of another signal. */
export const misdirected = (sent: OtlpSignal, path: OtlpSignal): string =>
  `The body is an ${ENVELOPE_NAMES[sent].request}. Send it to /telemetry/v1/${sent}, not to /telemetry/v1/${path}.`;

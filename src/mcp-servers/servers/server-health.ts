/** Why a server cannot be used. */
export const FAILURE_KINDS = [
  'unreachable',
  'timeout',
  'unauthorized',
  'tls',
  'protocol',
  'blocked_address',
] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** A failure as it is returned and stored. */
export interface Failure {
  kind: FailureKind;
  message: string;
}

/** What the last check of a server showed. `unknown`: there was none since its URL, transport or `auth` changed. */
export const HEALTH_STATUSES = ['unknown', 'healthy', 'unhealthy'] as const;
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/** Returns the columns of a server that has not been checked, and is to be checked at once. */
export const unchecked = () => ({
  health_status: 'unknown' as const,
  health_checked_at: null,
  health_latency_ms: null,
  health_error: null,
  next_check_at: new Date(),
});

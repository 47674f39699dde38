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

/** A failure as returned and stored. */
export interface Failure {
  kind: FailureKind;
  message: string;
}

/**
 * The result of the last check. `unknown` means not checked since the server was created, or since its URL, transport or
 * `auth` changed.
 */
export const HEALTH_STATUSES = ['unknown', 'healthy', 'unhealthy'] as const;
export type HealthStatus = (typeof HEALTH_STATUSES)[number];

/** Returns the health columns of a server that has not been checked, and is due for a check. */
export const uncheckedHealth = () => ({
  health_status: 'unknown' as const,
  health_checked_at: null,
  health_latency_ms: null,
  health_error: null,
  next_check_at: new Date(),
});

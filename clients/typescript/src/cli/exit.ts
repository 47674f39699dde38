/** The exit statuses of the command. */
export const EXIT = {
  passed: 0,
  unexpected: 1,
  usage: 2,
  failed: 3,
  authentication: 4,
  unreachable: 5,
  incomplete: 6,
} as const;
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** From bad to good. An incomplete run comes before a failed gate, because running it again may change either. */
const WORST_FIRST: readonly ExitStatus[] = [
  EXIT.unexpected,
  EXIT.usage,
  EXIT.authentication,
  EXIT.unreachable,
  EXIT.incomplete,
  EXIT.failed,
];

/** Returns the worst of the statuses. */
export const worstOf = (statuses: readonly ExitStatus[]): ExitStatus =>
  WORST_FIRST.find((status) => statuses.includes(status)) ?? EXIT.passed;

/** Returns the exit status of an error. Errors are known by name, because the file may load another copy of the client. */
export function statusOfError(error: unknown): ExitStatus {
  if (!(error instanceof Error)) return EXIT.unexpected;
  switch (error.name) {
    case 'ConfigurationError':
      return EXIT.authentication;
    case 'ConnectionError':
    case 'TimeoutError':
      return EXIT.unreachable;
    case 'ServiceError':
      return statusOfAnswer((error as Error & { status?: number }).status ?? 0);
    default:
      return EXIT.unexpected;
  }
}

function statusOfAnswer(status: number): ExitStatus {
  if (status === 401 || status === 403) return EXIT.authentication;
  return [429, 502, 503, 504].includes(status) ? EXIT.unreachable : EXIT.unexpected;
}

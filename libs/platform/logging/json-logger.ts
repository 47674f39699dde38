import type { LoggerService } from '@nestjs/common';
import { pino } from 'pino';

let output = pino.destination(1);

/**
 * Writes JSON lines to standard output: `level`, `time` (RFC 3339), `msg` and the given fields. Never log a token, a
 * secret or a body.
 */
export const rootLogger = pino(
  {
    level: 'info',
    base: { pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    serializers: { err: (error: unknown) => errorFields(error) },
  },
  { write: (line: string) => output.write(line) },
);

/** Writes log lines to standard error from now on. For commands whose result is their standard output. */
export function logToStandardError(): void {
  output = pino.destination(2);
}

/**
 * Returns the fields of an error to log: its type, message, code and stack, and those of its causes. Omits other fields,
 * because errors of the database driver contain the parameters of the statement, which come from bodies.
 */
function errorFields(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    stack: error.stack,
    ...(error.cause !== undefined && depth < 4 ? { cause: errorFields(error.cause, depth + 1) } : {}),
  };
}

export function setLogLevel(level: string): void {
  rootLogger.level = level;
}

/**
 * Nest's loggers of errors that stop the start. Nest also throws these errors, and the process logs them before it exits. Their
 * low level is safe only because every call of `NestFactory` sets `abortOnError: false`. Otherwise, Nest would end the process,
 * and the error would be logged only at the level debug.
 */
const RETHROWN_BY_NEST: ReadonlySet<string | undefined> = new Set(['ExceptionHandler', 'NestApplication']);

/** Logs Nest's own messages as JSON lines. Messages about its start have the level debug. */
export class JsonLogger implements LoggerService {
  log(message: unknown, context?: string): void {
    rootLogger.debug({ context }, String(message));
  }
  warn(message: unknown, context?: string): void {
    rootLogger.warn({ context }, String(message));
  }
  debug(message: unknown, context?: string): void {
    rootLogger.debug({ context }, String(message));
  }
  verbose(message: unknown, context?: string): void {
    rootLogger.trace({ context }, String(message));
  }
  error(message: unknown, stack?: string, context?: string): void {
    const level = RETHROWN_BY_NEST.has(context) ? 'debug' : 'error';
    if (message instanceof Error) rootLogger[level]({ err: message, context }, message.message);
    else rootLogger[level]({ stack, context }, String(message));
  }
}

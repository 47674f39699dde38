import type { LoggerService } from '@nestjs/common';
import { pino } from 'pino';

/** JSON lines on standard output: `level`, `time` (RFC 3339), `msg`, and the fields given. Never log a token, a secret or a body. */
export const rootLogger = pino({
  level: 'info',
  base: { pid: process.pid },
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
  formatters: { level: (label) => ({ level: label }) },
  serializers: { err: (error: unknown) => errorFields(error) },
});

/**
 * What of an error is logged: its kind, message, code and stack, and those of its causes. Nothing else: errors of
 * the database driver carry the statement's parameters, which are the bodies of requests.
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

/** Nest's own messages, as JSON lines like all others; what it says of its start is for debugging. */
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
    if (message instanceof Error) rootLogger.error({ err: message, context }, message.message);
    else rootLogger.error({ stack, context }, String(message));
  }
}

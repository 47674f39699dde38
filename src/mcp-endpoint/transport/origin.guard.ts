import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Rejects requests from web pages of other origins, as the Model Context Protocol requires. A page whose host name
 * resolves to this service's address (DNS rebinding) must not reach the service. Without `PUBLIC_URL`, only pages of
 * this machine are allowed. Clients other than browsers send no `Origin`.
 */
@Injectable()
export class OriginGuard implements CanActivate {
  private readonly allowed: ReadonlySet<string>;
  private readonly allowsLoopback: boolean;

  constructor({ PUBLIC_URL, CORS_ORIGINS }: Environment) {
    this.allowed = new Set([...(PUBLIC_URL ? [new URL(PUBLIC_URL).origin] : []), ...CORS_ORIGINS]);
    this.allowsLoopback = PUBLIC_URL === undefined;
  }

  canActivate(context: ExecutionContext): boolean {
    const { origin } = context.switchToHttp().getRequest<ServiceRequest>().headers;
    if (origin === undefined || this.allowed.has(origin) || (this.allowsLoopback && isLoopback(origin))) {
      return true;
    }
    throw problem.forbidden(
      'Pages of this origin must not call the MCP endpoint. Ask the operator to add the origin to CORS_ORIGINS.',
    );
  }
}

const isLoopback = (origin: string): boolean =>
  URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname);

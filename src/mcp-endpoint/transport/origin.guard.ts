import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import type { ServiceRequest } from '#platform/http';
import { problem } from '#platform/problem';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Refuses requests of web pages of other origins, as the Model Context Protocol requires: a page whose name resolves to
 * this service's address (DNS rebinding) must not reach it. Without `PUBLIC_URL`, only pages of this machine are the
 * service's own. Other clients send no `Origin`.
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
      'Pages of this Origin may not call the MCP endpoint. The operator can add it to CORS_ORIGINS.',
    );
  }
}

const isLoopback = (origin: string): boolean =>
  URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname);

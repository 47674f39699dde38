import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Response } from 'express';
import type { Principal } from '#platform/auth';
import type { ServiceRequest } from '#platform/http';
import { type RateLimitClass, rateLimitClassOf } from './rate-limit.class';
import { RateLimits } from './rate-limits';

/** Counts the requests of each principal by class, and throws 429 beyond the limit. Runs once the caller is known. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const name = rateLimitClassOf(this.reflector, context);
    return name === undefined || this.limits.isOff(name) || this.check(name, context);
  }

  private async check(name: RateLimitClass, context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const { user } = http.getRequest<ServiceRequest>();
    const rejection = await this.limits.check(name, rateLimitKeyOf(user!), http.getResponse<Response>());
    if (rejection) throw rejection;
    return true;
  }
}

/** Returns the key under which the requests of a principal are counted. Platform principals have no organization. */
export const rateLimitKeyOf = ({ orgId, id }: Principal): string => `${orgId ?? 'platform'}:${id}`;

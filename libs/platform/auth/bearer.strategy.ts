import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-jwt';
import type { Authenticator } from './authenticator';
import { bearerToken } from './bearer-token';

export const BEARER = 'bearer';

/** Options that the guard passes with each request. */
export interface BearerOptions {
  authenticator: Authenticator;
}

/**
 * Passport's strategy for bearer credentials. It replaces passport-jwt's verification, which supports neither EdDSA, nor
 * rotating key sets, nor the order of the steps, nor API keys. A failure is a `Problem`, which Passport passes on as an
 * error. Passport keeps one registry of strategies per process, so the strategy has no state of an application and takes
 * its authenticator from the guard.
 */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, BEARER) {
  constructor() {
    super({
      jwtFromRequest: bearerToken,
      secretOrKeyProvider: (_request: Request, _token: unknown, done: (error: Error) => void) =>
        done(new Error('tokens are verified by the authenticator')),
    });
  }

  override async authenticate(request: Request, { authenticator }: BearerOptions): Promise<void> {
    try {
      this.success(await authenticator.authenticate(bearerToken(request)));
    } catch (error) {
      this.error(error as Error);
    }
  }

  /** Required by Nest's mixin, and never called because `authenticate` is overridden. */
  validate(): never {
    throw new Error('tokens are verified by the authenticator');
  }
}

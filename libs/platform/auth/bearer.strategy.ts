import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-jwt';
import type { Authenticator } from './authenticator';
import { bearerToken } from './bearer-token';

export const BEARER = 'bearer';

/** What the guard passes with each request. */
export interface BearerOptions {
  authenticator: Authenticator;
}

/**
 * Passport's strategy for bearer credentials. It takes the place of passport-jwt's verification, which knows neither
 * EdDSA, nor key sets that rotate, nor the order of the steps, nor API keys; what fails is a `Problem`, which goes
 * through Passport as an error. Passport keeps strategies by name, one registry in a process: so this one holds
 * nothing of an application, and takes its authenticator from the guard.
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

  /** Required by Nest's mixin; nothing comes here, because `authenticate` is the service's own. */
  validate(): never {
    throw new Error('tokens are verified by the authenticator');
  }
}

import { Injectable } from '@nestjs/common';
import { AccountDirectory } from './account-directory';
import { isRole, type Role } from '#platform/scope';
import { type TrustedIssuer, TrustedIssuers } from './trusted-issuers';
import * as step from './verification-steps';

/** A token that holds: whom it names, and what it says of them. Whether they are known here is looked up later. */
export interface VerifiedToken extends step.Subject {
  readonly issuer: TrustedIssuer;
  /** Roles the token carries, without those that its issuer may not give. */
  readonly roles: readonly Role[];
  /** Null where the token does not narrow what its roles reach. */
  readonly workspaceIds: readonly string[] | null;
  readonly jti: string | null;
  readonly expiresAt: Date;
}

/**
 * Verifies bearer tokens. The order of the steps is part of the interface: a token with several faults gets the
 * code of the first. What comes after them, about the account, is in `Authenticator`.
 */
@Injectable()
export class TokenVerifier {
  constructor(
    private readonly issuers: TrustedIssuers,
    private readonly directory: AccountDirectory,
  ) {}

  /** @param now milliseconds since 1970. Throws the problem of the first step that fails. */
  async verify(text: string, now: number = Date.now()): Promise<VerifiedToken> {
    const token = step.tokenIsWellFormed(text, this.issuers);
    const algorithm = step.algorithmIsAllowed(token);
    step.tokenIsAccessToken(token);
    await step.tokenIsNotRevoked(token, this.directory);
    const issuer = step.issuerIsTrusted(token);
    const key = await step.findKey(token, issuer, algorithm);
    step.keyHasAlgorithm(key, algorithm);
    await step.signatureHolds(token, key, algorithm);
    step.timesHold(token, now);
    step.audienceMatches(token, issuer);
    const subject = step.identify(token);
    step.issuerMaySayThat(subject, issuer);
    const { roles, workspaceIds, jti, exp } = token.claims;
    return {
      ...subject,
      issuer,
      roles: roles.filter((role) => isRole(role) && issuer.roles.has(role)) as Role[],
      workspaceIds,
      jti,
      expiresAt: new Date(exp * 1000),
    };
  }
}

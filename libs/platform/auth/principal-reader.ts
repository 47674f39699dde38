import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { PLATFORM_OWNER, setCurrentOwner } from '#platform/concurrency';
import type { ServiceRequest } from '#platform/http';
import { Problem } from '#platform/problem';
import type { Principal } from '#platform/scope';
import { Authenticator } from './authenticator';
import { bearerToken } from './bearer-token';
import type { Member } from './workspace-scopes';

/** Authenticates the requests of endpoints that are not routes of Nest, as `BearerGuard` does for routes. */
@Injectable()
export class PrincipalReader {
  constructor(private readonly authenticator: Authenticator) {}

  /**
   * Returns the caller, and stores it in `request.user`.
   *
   * @throws the 401 codes; 403 for platform principals and suspended accounts
   */
  async read(incoming: IncomingMessage): Promise<Member> {
    const request = incoming as ServiceRequest;
    const principal = await this.authenticator.authenticate(bearerToken(request));
    request.verified?.(ownerOf(principal));
    return admit(request, principal);
  }

  /** Returns the caller if its credential is cached, else undefined. Throws like `read`. */
  getCached(incoming: IncomingMessage): Member | undefined {
    const request = incoming as ServiceRequest;
    const principal = this.authenticator.getCached(bearerToken(request));
    return principal && admit(request, principal);
  }
}

const ownerOf = ({ orgId }: Principal): string => orgId ?? PLATFORM_OWNER;

function admit(request: ServiceRequest, principal: Principal): Member {
  request.user = principal;
  setCurrentOwner(ownerOf(principal));
  if (principal.orgId === null) throw platformRefused();
  return principal as Member;
}

/** Returns the 403 for platform principals on tenant routes. */
export const platformRefused = (): Problem =>
  new Problem(
    'platform_principal_refused',
    'Platform principals can manage organizations but cannot access their data.',
  );

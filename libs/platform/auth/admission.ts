import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { Request, RequestHandler, Response } from 'express';
import passport from 'passport';
import { type OwnerPath, PLATFORM_OWNER, setCurrentOwner } from '#platform/concurrency';
import { isHealthCheck, isReading, type ServiceRequest } from '#platform/http';
import { LoadShedder } from '#platform/overload';
import { Problem, problem } from '#platform/problem';
import { ClientAddresses, type RateLimitClass, RateLimits } from '#platform/rate-limit';
import {
  type AccessRule,
  type Area,
  isRead,
  type OrgScope,
  type Principal,
  reduceRoles,
  rolesIn,
  type Scope,
  scopeOf,
} from '#platform/scope';
import { WORKSPACE_HEADER } from './access.decorator';
import { checkArea } from './allowed';
import { Authenticator } from './authenticator';
import { BEARER, bearerCredential, type BearerOptions } from './bearer.strategy';
import { type Member, scopeWithin, workspaceInHeader, WorkspaceScopes } from './workspace-scopes';

/** Who may call an operation, and how its requests are counted. */
export interface Access {
  /** Without a rule, every request is rejected. */
  readonly rule: AccessRule | undefined;
  /** The workspace header is required, and the request acts within that workspace. */
  readonly isInWorkspace?: boolean;
  /** The areas of keys that open the operation. Default: `read` if it only reads, otherwise none. */
  readonly areas?: readonly Area[] | undefined;
  /** The class of the rate limit. Default: reads or writes. */
  readonly rateClass?: RateLimitClass | undefined;
}

/** The access to public documents. */
export const PUBLIC: Access = { rule: { kind: 'public' } };

/** Admits requests: the one door for controllers, documents, the API proxy, the model gateway and the MCP endpoint. */
@Injectable()
export class Admission {
  constructor(
    private readonly shedder: LoadShedder,
    private readonly authenticator: Authenticator,
    private readonly rates: RateLimits,
    private readonly addresses: ClientAddresses,
    private readonly workspaces: WorkspaceScopes,
  ) {}

  /** Starts a request when it is its caller's turn, before anything else happens. */
  queue(request: IncomingMessage, response: ServerResponse, start: () => void): void {
    this.shedder.queue(request, response, (queued) => this.turnOf(queued), start);
  }

  /**
   * Admits a request, or throws the problem of the first check that fails. The order of the checks is part of the API.
   * Awaits only what is not cached. Sets `user`, `scope` and `rule` of the request.
   */
  async admit(request: ServiceRequest, response: ServerResponse, access: Access): Promise<true> {
    const { rule } = access;
    request.rule = rule;
    if (rule?.kind === 'public' && isHealthCheck(request)) return true;

    // overload (503)
    const credential = bearerCredential(request);
    const cached = typeof credential === 'string' ? this.authenticator.getCached(credential) : undefined;
    const countFor = cached
      ? this.shedder.enter(ownerOf(cached), request, response)
      : await this.enterUnknown(credential, request, response);

    // public documents: rate (429)
    if (rule?.kind === 'public') {
      if (isReading(request)) await this.rates.count('documents', this.addresses.of(request), response);
      return true;
    }

    // authentication (401) and account (403)
    if (typeof credential !== 'string') throw credential;
    const principal = cached ?? (await this.verify(request, response));
    if (!cached) countFor(ownerOf(principal));
    request.user = principal;
    setCurrentOwner(ownerOf(principal));
    if (principal.type === 'platform' && rule?.kind !== 'platform' && rule?.kind !== 'principal') {
      throw platformRefused();
    }

    // rate (429)
    const rateClass = access.rateClass ?? (isReading(request) ? 'reads' : 'writes');
    if (!this.rates.isOff(rateClass)) await this.rates.count(rateClass, principal, response);

    // what the key allows (403)
    if (principal.allow) checkArea(principal.allow, access.areas ?? (isReading(request) ? READ : NONE));

    // workspace (400, 409, 403)
    if (rule && 'anyOf' in rule) {
      const named = workspaceInHeader(request.headers);
      const member = principal as Member;
      if (access.isInWorkspace) request.scope = await this.enterWorkspace(request, member, named);
      else {
        request.scope = scopeOf(member, request.context.requestId);
        if (named !== undefined) await this.checkReach(member, named);
      }
    }

    // role (403)
    if (!isAllowed(rule, principal, request.scope)) throw problem.accessDenied(refusalOf(request));
    return true;
  }

  /** Returns the owner whose turn a request waits for: its organization, or else its address. */
  private turnOf(request: IncomingMessage): OwnerPath {
    if (isHealthCheck(request)) return ['health', this.addresses.of(request)];
    // Anthropic's clients send their key in `x-api-key`
    const credential = [bearerCredential(request), request.headers['x-api-key']].find(isText);
    const cached = credential === undefined ? undefined : this.authenticator.getCached(credential);
    if (cached) return [ownerOf(cached)];
    return [credential === undefined ? 'anonymous' : 'unverified', this.addresses.of(request)];
  }

  private enterUnknown(
    credential: string | Problem,
    request: ServiceRequest,
    response: ServerResponse,
  ): Promise<(owner: string) => void> {
    const caller = typeof credential === 'string' ? 'unverified' : 'anonymous';
    return this.shedder.enterUnknown(caller, this.addresses.of(request), request, response);
  }

  /** Verifies the credential of a request with Passport, which costs several times as much as the look-up. */
  private verify(request: ServiceRequest, response: ServerResponse): Promise<Principal> {
    return new Promise((resolve, reject) => {
      const done = (error: Error | null, principal: Principal): void =>
        error ? reject(error) : resolve(principal);
      const options: BearerOptions = { session: false, authenticator: this.authenticator };
      const handle = passport.authenticate(BEARER, options, done) as RequestHandler;
      handle(request as Request, response as Response, reject);
    });
  }

  /**
   * Returns the scope of a request that requires a workspace. Throws 400 without the header, 409 for an unknown workspace,
   * 403 without access to it, and 409 for a write to an archived one.
   */
  private async enterWorkspace(
    request: ServiceRequest,
    member: Member,
    workspaceId: string | undefined,
  ): Promise<Scope> {
    if (workspaceId === undefined) {
      throw problem.invalidHeader(WORKSPACE_HEADER, 'is required. Send the id of your workspace');
    }
    const workspace = await this.workspaces.find(member.orgId, workspaceId);
    if (!workspace) {
      throw problem.conflict(
        `The workspace in ${WORKSPACE_HEADER} does not exist. GET /registry/v1/workspaces lists yours.`,
      );
    }
    const scope = scopeWithin(member, workspaceId, request.context.requestId);
    if (!scope) throw workspaceDenied();
    if (workspace.archived && !isRead(request.rule)) {
      throw problem.conflict('The workspace is archived. Its resources can be read but not changed.');
    }
    request.context.workspaceId = workspaceId;
    return scope;
  }

  /** Throws 403 if an optional header names a workspace that the caller cannot access. It selects nothing otherwise. */
  private async checkReach(member: Member, workspaceId: string): Promise<void> {
    const hasRole = rolesIn(member, workspaceId).size > 0;
    if (!hasRole || !(await this.workspaces.find(member.orgId, workspaceId))) throw workspaceDenied();
  }
}

const READ: readonly Area[] = ['read'];
const NONE: readonly Area[] = [];

const isText = (value: unknown): value is string => typeof value === 'string';

const ownerOf = ({ orgId }: Principal): string => orgId ?? PLATFORM_OWNER;

const platformRefused = (): Problem =>
  new Problem(
    'platform_principal_refused',
    'Platform principals can manage organizations but cannot access their data.',
  );

const workspaceDenied = (): Problem =>
  problem.accessDenied(`You do not have access to the workspace in ${WORKSPACE_HEADER}.`);

function isAllowed(rule: AccessRule | undefined, principal: Principal, scope: OrgScope | undefined): boolean {
  switch (rule?.kind) {
    case 'platform':
      return principal.type === 'platform';
    case 'principal':
      return true;
    case 'roles':
      return rule.anyOf.some((role) => scope!.roles.has(role));
    case 'roles_everywhere':
      return rule.anyOf.some((role) => scope!.rolesEverywhere.has(role));
    case 'roles_somewhere':
      return rule.anyOf.some((role) => scope!.roles.has(role) || scope!.workspacesWith(role)?.size !== 0);
    default:
      return false;
  }
}

/** Returns a detail that names the missing role, where it is required, and the caller's roles there. */
function refusalOf({ rule, scope, method }: ServiceRequest): string {
  if (rule?.kind === 'platform') return 'Only platform principals can call this operation.';
  if (!rule || !('anyOf' in rule) || !scope) return 'No role allows this operation.';
  const roles = `Requires the role ${rule.anyOf.join(' or ')}`;
  if (rule.kind === 'roles_everywhere') return `${roles} in the whole organization.`;
  const isInWorkspace = 'workspaceId' in scope;
  if (!isInWorkspace && rule.kind === 'roles_somewhere') {
    const isAnyEnough = rule.isOfOrganization === true || method === 'GET' || isRead(rule);
    return `${roles} in ${isAnyEnough ? 'at least one workspace' : 'the workspace'}.`;
  }
  const place = isInWorkspace ? `the workspace of ${WORKSPACE_HEADER}` : 'the organization';
  return `${roles} in ${place}. Your roles there: ${reduceRoles(scope.roles).join(', ') || 'none'}.`;
}

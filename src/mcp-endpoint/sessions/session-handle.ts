import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Member } from '#platform/auth';
import { problem } from '#platform/problem';
import { SecretKeys } from '#platform/secrets';

/** The lifetime of a handle, in milliseconds. */
const LIFETIME_MS = 24 * 60 * 60 * 1000;

/** A handle, as `mcp__initialise` returns it. */
export interface SessionHandle {
  session_handle: string;
  expires_at: string;
}

/**
 * Creates and opens session handles. A handle names a workspace and belongs to one principal. It has an HMAC of both, so that
 * every API process can check it and no session is stored. It grants nothing: each call checks the caller's access to the
 * workspace.
 */
@Injectable()
export class SessionHandles {
  constructor(private readonly keys: SecretKeys) {}

  create(principal: Member, workspaceId: string): SessionHandle {
    const expires = Date.now() + LIFETIME_MS;
    return {
      session_handle: this.signed(principal, `${expires} ${workspaceId}`),
      expires_at: new Date(expires).toISOString(),
    };
  }

  /** Returns the workspace of a handle. Errors: 400 for a handle that is expired, altered or another principal's. */
  open(principal: Member, handle: string): string {
    const [expires, workspaceId] = this.verified(principal, handle).split(' ');
    if (Number(expires) <= Date.now() || workspaceId === undefined) {
      throw problem.invalidRequest('The session_handle has expired. Call mcp__initialise for a new one.');
    }
    return workspaceId;
  }

  /** Binds a content to its principal, so that no other principal can use the handle. */
  private signed({ orgId, type, id }: Member, content: string): string {
    const mac = this.keys.mac('mcp session', JSON.stringify([orgId, type, id, content]));
    return `${Buffer.from(content).toString('base64url')}.${mac.toString('base64url')}`;
  }

  private verified(principal: Member, handle: string): string {
    const content = Buffer.from(handle.split('.', 1)[0]!, 'base64url').toString();
    const [given, expected] = [handle, this.signed(principal, content)].map((text) => Buffer.from(text));
    if (given!.length === expected!.length && timingSafeEqual(given!, expected!)) return content;
    throw problem.invalidRequest(
      'The session_handle is not valid for you. Call mcp__initialise and pass its session_handle unchanged.',
    );
  }
}

import { Injectable } from '@nestjs/common';
import type { Member } from '#platform/auth';
import { SealedSecretError, SecretBox } from '#platform/secrets';
import { problem } from '#platform/problem';

/** The lifetime of a handle, in milliseconds. */
const LIFETIME_MS = 24 * 60 * 60 * 1000;

/** A handle, as `mcp__initialise` returns it. */
export interface SessionHandle {
  session_handle: string;
  expires_at: string;
}

/**
 * Creates and opens session handles. A handle names a workspace and belongs to one principal. It is sealed with
 * `SECRETS_KEY`, so that every API process can open it and no session is stored. It grants nothing: each call checks the
 * caller's access to the workspace.
 */
@Injectable()
export class SessionHandles {
  constructor(private readonly box: SecretBox) {}

  create(principal: Member, workspaceId: string): SessionHandle {
    const expires = Date.now() + LIFETIME_MS;
    return {
      session_handle: this.box.seal(`${expires} ${workspaceId}`, useOf(principal)),
      expires_at: new Date(expires).toISOString(),
    };
  }

  /** Returns the workspace of a handle. Errors: 400 for a handle that is expired, altered or another principal's. */
  open(principal: Member, handle: string): string {
    const [expires, workspaceId] = this.unseal(principal, handle).split(' ');
    if (Number(expires) <= Date.now() || workspaceId === undefined) {
      throw problem.invalidRequest('The session_handle has expired. Call mcp__initialise for a new one.');
    }
    return workspaceId;
  }

  private unseal(principal: Member, handle: string): string {
    try {
      return this.box.open(handle, useOf(principal));
    } catch (error) {
      if (!(error instanceof SealedSecretError)) throw error;
      throw problem.invalidRequest(
        'The session_handle is not valid for you. Call mcp__initialise and pass its session_handle unchanged.',
      );
    }
  }
}

/** Binds handles to their principal, so that no other principal can open them. */
const useOf = ({ orgId, type, id }: Member): string => `mcp session:${orgId}:${type}:${id}`;

import { Injectable } from '@nestjs/common';
import { AccountCache, AccountDirectory, type Scope } from '#platform/auth';
import type { Masking } from '#platform/masking';

/** Masks texts by the rules of their workspace. Everything that stores telemetry, results or messages uses it. */
@Injectable()
export class WorkspaceMasking {
  constructor(
    private readonly cache: AccountCache,
    private readonly directory: AccountDirectory,
  ) {}

  /**
   * Returns what masks the texts of one request; null without rules. The rules are cached like accounts: a process that has
   * missed their change still uses the previous ones for at most `AUTH_CACHE_SECONDS`. Errors: 503 if they cannot be read.
   */
  async start({ orgId, workspaceId }: Pick<Scope, 'orgId' | 'workspaceId'>): Promise<Masking | null> {
    const workspace = await this.cache.findWorkspace(orgId, workspaceId, () =>
      this.directory.findWorkspace(orgId, workspaceId),
    );
    return workspace?.masker?.start() ?? null;
  }
}

import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';

/** The kinds of resources that a key can be limited to. */
export type AllowedKindName = 'models' | 'apis' | 'tools' | 'agents';

/** A live resource that a reference in a request body names. */
export interface AllowedResource {
  reference: string;
  /** The id that `Allow` stores. */
  id: string;
}

/** Resources of one kind that a key can be limited to. The area that owns the kind adds it to `AllowedKinds`. */
export interface AllowedKind {
  /**
   * Finds live resources by their names or ids. A name can have several.
   *
   * @param workspaceIds the workspaces to look in; null for all of the organization
   */
  find(
    on: SqlExecutor,
    scope: OrgScope,
    workspaceIds: readonly string[] | null,
    references: readonly string[],
  ): Promise<AllowedResource[]>;

  /** Returns the current names of resources, archived ones included, by id. */
  namesOf(on: SqlExecutor, scope: OrgScope, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** The kinds of all areas. */
@Injectable()
export class AllowedKinds {
  private readonly kinds = new Map<AllowedKindName, AllowedKind>();

  /** Adds a kind. The service that owns it calls this in its constructor. */
  add(name: AllowedKindName, kind: AllowedKind): void {
    this.kinds.set(name, kind);
  }

  of(name: AllowedKindName): AllowedKind {
    const kind = this.kinds.get(name);
    if (!kind) throw new Error(`No area provides ${name} that a key can be limited to.`);
    return kind;
  }
}

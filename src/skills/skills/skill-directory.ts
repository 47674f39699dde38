import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import {
  type DescribedSkill,
  type ResolvedSkill,
  type SkillReference,
  SkillRepository,
} from './skill.repository';

/** Looks up the skills of a workspace for other areas. Each lookup is one statement. */
@Injectable()
export class SkillDirectory {
  constructor(private readonly skills: SkillRepository) {}

  /** Resolves references in order: null where the workspace has no such live skill, or the skill has no such version. */
  async resolve(
    on: SqlExecutor,
    scope: Scope,
    references: readonly SkillReference[],
  ): Promise<(ResolvedSkill | null)[]> {
    if (references.length === 0) return [];
    const resolved = await this.skills.resolve(on, scope, references);
    const byIndex = new Map(resolved.map(({ index, ...skill }) => [index, skill]));
    return references.map((_, index) => byIndex.get(index) ?? null);
  }

  /** Returns the names and descriptions of versions in the order of the references, without those that were deleted. */
  describe(scope: OrgScope, references: readonly SkillReference[]): Promise<DescribedSkill[]> {
    return references.length === 0 ? Promise.resolve([]) : this.skills.describe(scope, references);
  }

  /** Returns the indexes of references to skills or versions that were deleted. */
  missing(
    scope: OrgScope,
    references: readonly { skill_id: string; version_ordinal?: number | null }[],
  ): Promise<Set<number>> {
    const versions = references.map(({ skill_id: id, version_ordinal: ordinal = null }) => ({ id, ordinal }));
    return this.skills.versions.missing(scope.orgKey, versions);
  }

  /** Returns the ids of the workspace's live skills with these names, by name. */
  idsByName(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    return this.skills.idsByName(on, scope, names);
  }
}

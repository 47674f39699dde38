import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { type ReferredSkill, type SkillReference, SkillRepository } from './skill.repository';

/** Looks up the skills of a workspace for other areas, each time with one statement. */
@Injectable()
export class SkillDirectory {
  constructor(private readonly skills: SkillRepository) {}

  /** Resolves references in their order. Null if the workspace has no such live skill, or the skill has no such version. */
  async findAmong(
    on: SqlExecutor,
    scope: Scope,
    references: readonly SkillReference[],
  ): Promise<(ReferredSkill | null)[]> {
    if (references.length === 0) return [];
    const found = await this.skills.findReferred(on, scope, references);
    const byPlace = new Map(found.map(({ place, ...referred }) => [place, referred]));
    return references.map((_, place) => byPlace.get(place) ?? null);
  }

  /** Returns the ids of the workspace's live skills with these names, by name. */
  idsByName(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    return this.skills.idsByName(on, scope, names);
  }
}

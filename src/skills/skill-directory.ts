import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { SkillRepository } from './skill.repository';
import { type ReferredSkill, type SkillReference, SkillVersionRepository } from './skill-version.repository';

/** Finds the live skills of a workspace: for areas whose resources refer to them. One statement each. */
@Injectable()
export class SkillDirectory {
  constructor(
    private readonly skills: SkillRepository,
    private readonly versions: SkillVersionRepository,
  ) {}

  /**
   * What each reference comes to, in their order: null where the workspace has no such live skill, or the skill no such
   * version. One without a version comes to the newest.
   */
  async findAmong(
    on: SqlExecutor,
    scope: Scope,
    references: readonly SkillReference[],
  ): Promise<(ReferredSkill | null)[]> {
    if (references.length === 0) return [];
    const found = await this.versions.findReferred(on, scope, references);
    const byPlace = new Map(found.map(({ place, ...referred }) => [place, referred]));
    return references.map((_, place) => byPlace.get(place) ?? null);
  }

  /** The ids of those that have these names, by their names. */
  async idsByName(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    if (names.length === 0) return new Map();
    const found = await this.skills.findByNames(on, scope, names);
    return new Map(found.map(({ name, skill_id }) => [name, skill_id]));
  }
}

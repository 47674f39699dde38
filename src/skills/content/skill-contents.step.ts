import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { SkillContents } from './skill-contents';

/** Contents per transaction. */
const BATCH = 500;

/** Erases the contents of skills that no file refers to once the rows of a workspace are erased. */
@Injectable()
export class SkillContentsStep implements ErasureStep {
  readonly name = 'skill contents';
  readonly subjects = ['workspace'] as const;
  readonly phase = 'copies';

  constructor(
    steps: ErasureSteps,
    private readonly contents: SkillContents,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, { orgId, isOfOrg, isDryRun }: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    // those of an organization are erased as rows of it
    if (isDryRun || isOfOrg) return { counts: {}, next: null };
    const { count, next } = await this.contents.releaseUnreferenced(tx, { orgId }, cursor, BATCH);
    return { counts: { skill_contents: count }, next };
  }
}

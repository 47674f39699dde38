import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';
import { type RawJson, toJsonText } from '#platform/json';
import type { PinnedScorer } from '../scoring/earlier-scores.repository';
import type { Judgement } from './judge-backend';

/** Which question it was, of one version of a scorer; see `JudgeRequest`. */
export interface AskedQuestion extends PinnedScorer {
  workspace_id: string;
  question_sha256: string;
}

/** What was answered, and for which target of which run. */
export interface KnownAnswer {
  judgement: Judgement;
  askedFor: string | null;
}

export interface NewAnswer {
  /** Its number, from 0. */
  sample: number;
  judgement: Judgement;
  askedFor: string | undefined;
}

interface AnswerRow {
  sample: number;
  judgement: RawJson;
  asked_for: string | null;
}

const FIND = {
  name: 'judge-answer.find',
  text: `SELECT sample, judgement, asked_for FROM judge_answers
    WHERE workspace_id = $1 AND scorer_id = $2 AND scorer_version = $3 AND question_sha256 = $4 AND sample < $5`,
};

const SAVE = {
  name: 'judge-answer.save',
  text: `INSERT INTO judge_answers (workspace_id, scorer_id, scorer_version, question_sha256, sample, judgement,
                             asked_for)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (workspace_id, scorer_id, scorer_version, question_sha256, sample)
    DO UPDATE SET judgement = excluded.judgement, asked_for = excluded.asked_for, created_at = now()`,
};

/** What judges have answered, so that the same is not asked, and paid, twice. */
@Injectable()
export class JudgeAnswerRepository {
  constructor(private readonly database: Database) {}

  /** What was answered to the first samples of a question, by their numbers from 0. */
  async find(question: AskedQuestion, samples: number): Promise<Map<number, KnownAnswer>> {
    const values = [...keyOf(question), samples];
    const rows = await this.database.query<AnswerRow>(FIND, values);
    return new Map(
      rows.map(({ sample, judgement, asked_for }) => [
        sample,
        { judgement: judgement.parse() as Judgement, askedFor: asked_for },
      ]),
    );
  }

  async save(question: AskedQuestion, { sample, judgement, askedFor }: NewAnswer): Promise<void> {
    await this.database.query(SAVE, [...keyOf(question), sample, toJsonText(judgement), askedFor ?? null]);
  }

  /** Deletes answers that are older than so many days, at most `limit` of them. @returns how many. */
  async prune(days: number, limit: number): Promise<number> {
    const rows = await this.database.query<{ count: number }>(
      `WITH old AS (
         SELECT ctid FROM judge_answers WHERE created_at < now() - $1 * interval '1 day' LIMIT $2
       ), gone AS (
         DELETE FROM judge_answers WHERE ctid IN (SELECT ctid FROM old) RETURNING 1
       ) SELECT count(*)::integer AS count FROM gone`,
      [days, limit],
    );
    return rows[0]!.count;
  }
}

const keyOf = (question: AskedQuestion): unknown[] => [
  question.workspace_id,
  question.scorer_id,
  question.scorer_version,
  question.question_sha256,
];

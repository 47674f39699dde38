import { Injectable } from '@nestjs/common';
import { Database, join, prepared, sql } from '#platform/db';
import { type RawJson, toRawJson } from '#platform/json';
import type { PinnedScorer } from '../../scorers';
import type { Judgement } from '../judge-backend';

/** A question of one version of a scorer. See `JudgeRequest`. */
export interface AskedQuestion extends PinnedScorer {
  workspace_id: string;
  question_sha256: string;
}

/** A cached answer. */
export interface CachedAnswer {
  judgement: Judgement;
  /** The target of the run that paid for the answer; null without a run. */
  targetKey: string | null;
  /** The digest of the judge that gave the newest score of the scorer version; null without scores. */
  newestDigest: string | null;
}

export interface NewAnswer {
  /** Number of the sample, from 0. */
  sample: number;
  judgement: Judgement;
  targetKey: string | undefined;
}

interface AnswerRow {
  sample: number;
  judgement: RawJson;
  target_key: string | null;
  newest_digest: string | null;
}

/** Caches the answers of judges, so that no question is paid for twice. */
@Injectable()
export class JudgeAnswerRepository {
  constructor(private readonly database: Database) {}

  /** Returns the cached answers to the first samples of a question, by sample number from 0. */
  async find(question: AskedQuestion, samples: number): Promise<Map<number, CachedAnswer>> {
    const rows = await this.database.query<AnswerRow>(
      prepared(
        'judge-answer.find',
        sql`SELECT sample, judgement, target_key, (
              SELECT judge_digest FROM scores
              WHERE workspace_id = ${question.workspace_id} AND scorer_id = ${question.scorer_id}
                AND scorer_version = ${question.scorer_version} AND judge_digest IS NOT NULL
              ORDER BY score_id DESC LIMIT 1) AS newest_digest
          FROM judge_answers
          WHERE workspace_id = ${question.workspace_id} AND scorer_id = ${question.scorer_id}
            AND scorer_version = ${question.scorer_version} AND question_sha256 = ${question.question_sha256}
            AND sample < ${samples}`,
      ),
    );
    return new Map(
      rows.map(({ sample, judgement, target_key, newest_digest }) => [
        sample,
        { judgement: judgement.parse() as Judgement, targetKey: target_key, newestDigest: newest_digest },
      ]),
    );
  }

  async save(question: AskedQuestion, { sample, judgement, targetKey }: NewAnswer): Promise<void> {
    const key = [
      question.workspace_id,
      question.scorer_id,
      question.scorer_version,
      question.question_sha256,
      sample,
    ];
    await this.database.query(
      prepared(
        'judge-answer.save',
        sql`INSERT INTO judge_answers (workspace_id, scorer_id, scorer_version, question_sha256, sample, judgement,
                                       target_key)
          VALUES (${join(key)}, ${toRawJson(judgement)}, ${targetKey ?? null})
          ON CONFLICT (workspace_id, scorer_id, scorer_version, question_sha256, sample)
          DO UPDATE SET judgement = excluded.judgement, target_key = excluded.target_key, created_at = now()`,
      ),
    );
  }

  /** Deletes at most `limit` answers older than this many days. Returns their number. */
  async deleteOld(days: number, limit: number): Promise<number> {
    const rows = await this.database.query<{ count: number }>(
      sql`WITH old AS (
          SELECT ctid FROM judge_answers WHERE created_at < now() - ${days}::float8 * interval '1 day' LIMIT ${limit}
        ), deleted AS (
          DELETE FROM judge_answers WHERE ctid IN (SELECT ctid FROM old) RETURNING 1
        ) SELECT count(*)::integer AS count FROM deleted`,
    );
    return rows[0]!.count;
  }
}

import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { RawJson, sha256OfJson, toRawJson, toRawJsonOrNull } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { cut, ResultLockRepository } from '../experiments';
import {
  type HumanDefinition,
  minAnnotationsOf,
  readAnswer,
  type ScoredAnswer,
  type ScorerEntity,
  ScorerRepository,
} from '../scorers';
import { checkWorkspaceOfCreate } from '../../resources';
import {
  type CreateHumanScoreDto,
  type HumanScoreDto,
  type HumanScoreListQueryDto,
  toHumanScoreDto,
} from './human-score.dto';
import { HumanScoreRepository, type NewHumanScore } from './human-score.repository';
import { type FoundTarget, namedTarget, ScoreTargets } from './score-targets';
import { ScoreWriteBackRepository } from './score-write-back.repository';

/** A scorer, and the version whose definition a score uses. */
interface Pinned {
  scorer: ScorerEntity;
  version: number;
  definition: HumanDefinition;
}

/** A checked score that is not stored yet. */
export interface PreparedScore {
  pinned: Pinned;
  row: NewHumanScore;
}

/** Human scores, which people give by scorers of kind `human`. */
@Injectable()
export class HumanScoreService {
  constructor(
    private readonly database: Database,
    private readonly scorers: ScorerRepository,
    private readonly targets: ScoreTargets,
    private readonly scores: HumanScoreRepository,
    private readonly locks: ResultLockRepository,
    private readonly writeBack: ScoreWriteBackRepository,
  ) {}

  /**
   * Stores the caller's score of a trace, a session or a result. It supersedes the caller's earlier score of the same
   * target, and is written back to the results of running experiments. Errors: those of `prepare`.
   */
  async create(scope: Scope, dto: CreateHumanScoreDto): Promise<HumanScoreDto> {
    const prepared = await this.prepare(scope, dto);
    return this.database.transaction((tx) => this.store(tx, scope, prepared));
  }

  /**
   * Checks a score that `store` then stores in a transaction of the caller. Errors: 400 for no or several targets, a scorer
   * of another kind and an answer that does not fit the output; 404 naming the unknown reference; 409 for an archived
   * scorer; 422 for an unknown choice.
   */
  async prepare(scope: Scope, dto: CreateHumanScoreDto): Promise<PreparedScore> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const named = namedTarget(dto);
    const pinned = await this.pin(scope, dto);
    const reading = readAnswer(pinned.definition.output, dto);
    const target = await this.targets.find(scope, named);
    if (pinned.scorer.archived_at) {
      throw problem.conflict('The scorer is archived. Restore it before you record scores.');
    }
    return { pinned, row: newRow(scope, pinned, target, reading.scored(), dto) };
  }

  async get(scope: Scope, id: string): Promise<HumanScoreDto> {
    const row = await this.scores.find(scope, id);
    if (!row) throw problem.notFound('score', id);
    return toHumanScoreDto(row);
  }

  async list(scope: Scope, query: HumanScoreListQueryDto): Promise<Page<HumanScoreDto>> {
    const { rows, page } = await this.scores.list(scope, query);
    return { items: rows.map(toHumanScoreDto), page };
  }

  private async pin(scope: Scope, { scorer_id, scorer_version }: CreateHumanScoreDto): Promise<Pinned> {
    const scorer = await this.scorers.find(scope, scorer_id);
    if (!scorer) throw problem.unknownReference('/scorer_id', 'scorer', scorer_id);
    const version = scorer_version ?? scorer.scorer_version;
    const row =
      version === scorer.scorer_version ? scorer : await this.scorers.findVersion(scope, scorer_id, version);
    if (!row) throw problem.unknownReference('/scorer_version', 'scorer version', String(version));
    if (scorer.scorer_kind !== 'human') {
      const detail = `is a scorer of kind ${scorer.scorer_kind}, which the service runs; use a scorer of kind human`;
      throw problem.invalidFields([{ pointer: '/scorer_id', detail }]);
    }
    return { scorer, version, definition: row.definition.parse() as HumanDefinition };
  }

  /** Stores a score and writes it back, in one transaction, so that nobody sees one without the other. */
  async store(tx: Tx, scope: Scope, { pinned, row }: PreparedScore): Promise<HumanScoreDto> {
    const { scorer, definition } = pinned;
    const stored = toHumanScoreDto(await this.scores.insert(tx, row));
    const results =
      row.target_kind === 'result'
        ? [{ experiment_id: row.experiment_id!, result_id: row.result_id! }]
        : await this.locks.lockReferencing(tx, scope, row.target_kind, (row.trace_id ?? row.session_id)!);
    if (results.length === 0) return stored;
    const experiments = [...new Set(results.map((result) => result.experiment_id))];
    await this.scores.linkExperiments(tx, scope, row.score_id, experiments);
    await this.writeBack.intoResults(tx, scope, results, {
      scorerId: scorer.scorer_id,
      name: scorer.name,
      outputSha256: row.output_sha256,
      minAnnotations: minAnnotationsOf(definition),
      at: row.created_at,
    });
    return stored;
  }
}

function newRow(
  scope: Scope,
  { scorer, version, definition }: Pinned,
  target: FoundTarget,
  { answer, score }: ScoredAnswer,
  dto: CreateHumanScoreDto,
): NewHumanScore {
  return {
    score_id: newId('score'),
    workspace_id: scope.workspaceId,
    scorer_id: scorer.scorer_id,
    scorer_version: version,
    ...target,
    score,
    choice: answer.choice ?? null,
    value: toRawJsonOrNull(answer.value),
    answers: toRawJsonOrNull(answer.answers),
    output_sha256: sha256OfJson(definition.output),
    comment: typeof dto.comment === 'string' ? cut(dto.comment) : null,
    metadata: dto.metadata ? toRawJson(dto.metadata) : new RawJson('{}'),
    created_at: new Date(),
    created_by: scope.principalId,
  };
}

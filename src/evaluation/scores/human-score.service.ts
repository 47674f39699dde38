import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import { newId } from '#platform/ids';
import { RawJson, sha256OfJson, toRawJson, toRawJsonOrNull } from '#platform/json';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { cut } from '../results/scores';
import { type HumanDefinition, minAnnotationsOf } from '../scorers/definitions/human.definition';
import { readAnswer, type ScoredAnswer } from '../scorers/definitions/output.answer';
import type { ScorerEntity } from '../scorers/scorer.entity';
import { ScorerRepository } from '../scorers/scorer.repository';
import { checkWorkspaceOfCreate } from '../shared/workspace-body';
import { HumanLandingRepository } from './human-landing.repository';
import type { CreateHumanScoreDto, HumanScoreDto, HumanScoreListQueryDto } from './human-score.dto';
import type { HumanScoreRow } from './human-score.entity';
import { toHumanScoreDto } from './human-score.mapper';
import { HumanScoreRepository, type NewHumanScore } from './human-score.repository';
import { type FoundTarget, namedTarget, ScoreTargets } from './score-targets';

/** A scorer and the definition of the version that a score is made by. */
interface Pinned {
  scorer: ScorerEntity;
  version: number;
  definition: HumanDefinition;
}

/** What people score, by scorers of the kind `human`. */
@Injectable()
export class HumanScoreService {
  constructor(
    private readonly database: Database,
    private readonly scorers: ScorerRepository,
    private readonly targets: ScoreTargets,
    private readonly scores: HumanScoreRepository,
    private readonly landings: HumanLandingRepository,
  ) {}

  /**
   * Keeps what the caller says of a trace, a session or a result. It takes the place of their earlier score of the
   * same, and reaches the results of experiments that run. Errors: 400 for no or several targets, a scorer of another
   * kind, and an answer that its output does not take; 404 naming what is unknown; 409 for an archived scorer; 422 for
   * a choice that is none.
   */
  async create(scope: Scope, dto: CreateHumanScoreDto): Promise<HumanScoreDto> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    const named = namedTarget(dto);
    const pinned = await this.pin(scope, dto);
    const reading = readAnswer(pinned.definition.output, dto);
    const target = await this.targets.find(scope, named);
    if (pinned.scorer.archived_at) {
      throw problem.conflict('The scorer is archived and takes no scores any more.');
    }
    return toHumanScoreDto(
      await this.keep(scope, pinned, newRow(scope, pinned, target, reading.scored(), dto)),
    );
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
      const detail = `is a scorer of the kind ${scorer.scorer_kind}, which the service runs; people score with one of the kind human`;
      throw problem.invalidFields([{ pointer: '/scorer_id', detail }]);
    }
    return { scorer, version, definition: row.definition.parse() as HumanDefinition };
  }

  /** All in one transaction: nobody sees a score that has not landed, and a summary has what landed before it. */
  private keep(scope: Scope, { scorer, definition }: Pinned, row: NewHumanScore): Promise<HumanScoreRow> {
    return this.database.transaction(async (tx) => {
      const kept = await this.scores.insert(tx, row);
      const results =
        row.target_kind === 'result'
          ? [{ experiment_id: row.experiment_id!, result_id: row.result_id! }]
          : await this.landings.naming(tx, scope, row.target_kind, (row.trace_id ?? row.session_id)!);
      if (results.length === 0) return kept;
      const experiments = [...new Set(results.map((result) => result.experiment_id))];
      await this.scores.noteExperiments(tx, scope, row.score_id, experiments);
      await this.landings.land(tx, scope, results, {
        scorerId: scorer.scorer_id,
        name: scorer.name,
        outputSha256: row.output_sha256,
        minAnnotations: minAnnotationsOf(definition),
        at: row.created_at,
      });
      return kept;
    });
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

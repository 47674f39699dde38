import { Injectable } from '@nestjs/common';
import { BulkColumns, inChunks, sql, type Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { type EvaluationEvent, EvaluationEvents, joinTraceFact } from '../../telemetry';

interface NewScore extends EvaluationEvent {
  scoreId: string;
  /** Microseconds since 1970. */
  createdAt: bigint;
}

const SCORES = new BulkColumns<NewScore>([
  { name: 'score_id', type: 'text', value: ({ scoreId }) => scoreId },
  { name: 'workspace_id', type: 'text', value: ({ scope }) => scope.workspaceId },
  { name: 'scorer_name', type: 'text', value: ({ name }) => name },
  // a caller with only the role `runtime` is an application, which sends its users' feedback
  { name: 'source', type: 'text', value: ({ scope }) => (scope.roles.has('editor') ? 'client' : 'end_user') },
  { name: 'trace_id', type: 'text', value: ({ traceId }) => traceId },
  { name: 'span_id', type: 'text', value: ({ spanId }) => spanId },
  { name: 'score', type: 'float8', value: ({ score }) => score },
  { name: 'label', type: 'text', value: ({ label }) => label },
  { name: 'comment', type: 'text', value: ({ explanation }) => explanation },
  { name: 'event_key', type: 'uuid', value: ({ key }) => key },
  { name: 'created_at', type: 'timestamptz', value: ({ createdAt }) => createdAt },
  { name: 'created_by', type: 'text', value: ({ scope }) => scope.principalId },
]);

/**
 * Stores the scores of evaluation events. Events are independent measurements, so none supersedes another. The statement is
 * not prepared, because a plan made for few traces would read all traces for each event.
 */
@Injectable()
export class EvaluationEventsRepository extends EvaluationEvents {
  async store(tx: Tx, events: readonly EvaluationEvent[]): Promise<void> {
    if (events.length === 0) return;
    const createdAt = BigInt(Date.now()) * 1000n;
    const ordered = [...events].sort((one, other) => (orderOf(one) < orderOf(other) ? -1 : 1));
    const scores = ordered.map((event) => ({ ...event, scoreId: newId('score'), createdAt }));
    await inChunks(scores, (chunk) =>
      tx.query(
        sql`INSERT INTO scores (${SCORES.columnList}, target_kind, scorer_id, scorer_kind, session_id, trace_check_at)
            SELECT new_score.*, 'trace', c.scorer_id, c.scorer_kind, of_session_id.session_id,
                   CASE WHEN of_session_id.is_stored IS NULL THEN new_score.created_at END
            FROM ${SCORES.table(chunk, 'new_score')} ${joinTraceFact('new_score', 'session_id')} LEFT JOIN LATERAL (
              SELECT scorer_id, scorer_kind FROM scorers s
              WHERE s.workspace_id = new_score.workspace_id AND s.name = new_score.scorer_name AND s.archived_at IS NULL
                AND s.scorer_kind <> 'human'
              LIMIT 1
            ) c ON true
            ON CONFLICT (workspace_id, event_key) WHERE event_key IS NOT NULL DO NOTHING`,
      ),
    );
  }
}

const orderOf = ({ scope, key }: EvaluationEvent): string => `${scope.workspaceId} ${key}`;

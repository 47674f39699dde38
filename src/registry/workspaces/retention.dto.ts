import { IsOptional } from 'class-validator';
import { IsWholeNumber } from '#platform/http';
import { RawJson } from '#platform/json';

const Days = (description: string) => (target: object, property: string) => {
  IsOptional()(target, property);
  IsWholeNumber({ minimum: 1, maximum: 36_500, nullable: true, required: false, description })(
    target,
    property,
  );
};

/** For how many days a workspace keeps its data. Null for as long as the installation does. */
export class RetentionDto {
  @Days('Days after the day on which a trace arrived.')
  traces_days?: number | null;

  @Days('Days after the day on which a log record arrived.')
  logs_days?: number | null;

  @Days('Days after the day on which a data point arrived.')
  metrics_days?: number | null;

  @Days('Days after the creation of a score of a trace or a session. Scores of results are kept.')
  scores_days?: number | null;

  @Days('Days after the last change of a session with an agent, such as a message.')
  sessions_days?: number | null;
}

export type RetentionMember = keyof RetentionDto;

export const RETENTION_MEMBERS = [
  'traces_days',
  'logs_days',
  'metrics_days',
  'scores_days',
  'sessions_days',
] as const satisfies readonly RetentionMember[];

/** Merges a patch (RFC 7396) into a stored retention, which has only the members that are set. Undefined leaves it, null clears it. */
export function patchRetention(stored: RawJson, patch: RetentionDto | null | undefined): RawJson {
  if (patch === undefined) return stored;
  const before = patch === null ? {} : (stored.parse() as RetentionDto);
  const set = RETENTION_MEMBERS.flatMap((member) => {
    const days = patch?.[member] === undefined ? before[member] : patch[member];
    return typeof days === 'number' ? [[member, days]] : [];
  });
  return new RawJson(JSON.stringify(Object.fromEntries(set)));
}

/** Returns a stored retention with all members. */
export const toRetentionDto = (stored: RawJson): RetentionDto => {
  const retention = stored.parse() as RetentionDto;
  return Object.fromEntries(RETENTION_MEMBERS.map((member) => [member, retention[member] ?? null]));
};

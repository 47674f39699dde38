import { IsBoolean, IsObject, IsOptional } from 'class-validator';
import { IsOneOf, IsText, Nested, NotNull } from '#platform/http';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import {
  ERASURE_STATUSES,
  ERASURE_SUBJECTS,
  ErasureDto,
  type ErasureStatus,
  type ErasureSubject,
  IsFilter,
  REQUESTED_SUBJECTS,
} from '../../resources';

const SUBJECT_ID_MAX = 1_000;

/** Whose data to erase. */
export class ErasureRequestSubjectDto {
  /**
   * An `end_user` is whom `user_id` of traces and `author` of end-user scores name. Of a `session`, messages and traces are
   * erased, and of a `workspace` or an `org` everything.
   */
  @IsOneOf(REQUESTED_SUBJECTS)
  kind!: (typeof REQUESTED_SUBJECTS)[number];

  /** The id of the end user, session, workspace or organization. */
  @IsText(SUBJECT_ID_MAX)
  id!: string;
}

/** A request for an erasure. */
export class CreateErasureDto {
  @Nested(() => ErasureRequestSubjectDto)
  @IsObject()
  subject!: ErasureRequestSubjectDto;

  /**
   * The workspace to erase in, required for a `session`. Without it, an `end_user` is erased in all workspaces, for which you need
   * the role `admin` in the whole organization.
   */
  @NotNull()
  @IsText(SUBJECT_ID_MAX)
  workspace_id?: string;

  /** Whether to only count what would be erased. */
  @IsOptional()
  @IsBoolean()
  dry_run?: boolean;
}

/** The query of the list of erasures. */
export class ErasureListQueryDto extends OrderedListQueryDto {
  /** Only erasures in this workspace. */
  @IsFilter()
  workspace_id?: string;

  @NotNull()
  @IsOneOf(ERASURE_SUBJECTS, { required: false })
  subject_kind?: ErasureSubject;

  /** Only erasures of this subject. */
  @IsFilter(SUBJECT_ID_MAX)
  subject_id?: string;

  @NotNull()
  @IsOneOf(ERASURE_STATUSES, { required: false })
  erasure_status?: ErasureStatus;
}

export class ErasurePageDto extends PageOf(ErasureDto) {}

import { ApiProperty } from '@nestjs/swagger';
import { AnyJson, IsOneOf, NotNull, viewOf } from '#platform/http';
import { OrderedListQueryDto, PageOf } from '#platform/paging';
import { AUDIT_ACTIONS, type AuditAction, AUDITED_TYPES, type AuditedType, IsFilter } from '../../resources';

/** The query of the audit log. Entries are never archived. */
export class AuditLogQueryDto extends OrderedListQueryDto {
  /** Only entries of this workspace. */
  @IsFilter()
  workspace_id?: string;

  /** Only entries of this principal. */
  @IsFilter()
  principal_id?: string;

  @NotNull()
  @IsOneOf(AUDIT_ACTIONS, { required: false })
  action?: AuditAction;

  @NotNull()
  @IsOneOf(AUDITED_TYPES, { required: false })
  resource_type?: AuditedType;

  /** Only entries of this resource. */
  @IsFilter(1000)
  resource_id?: string;
}

/** A changed member. */
export class AuditChangeDto {
  member!: string;
  /** The previous value. Like `after`, it is absent for free-form, large and secret members. */
  @AnyJson({ required: false })
  before?: unknown;
  /** The new value. */
  @AnyJson({ required: false })
  after?: unknown;
}

/** One action of a principal on a resource. */
export class AuditEntryDto {
  audit_entry_id!: string;
  org_id!: string;
  /** Null for an action on the organization. Only its admins see such entries. */
  workspace_id!: string | null;
  /** A user, a service account or a platform principal. For a scheduled reconcile, the id of the app. */
  principal_id!: string;
  @ApiProperty({ enum: AUDIT_ACTIONS })
  action!: AuditAction;
  @ApiProperty({ enum: AUDITED_TYPES })
  resource_type!: AuditedType;
  /** For a member of a workspace, the id of the principal. For a token, its `jti`. */
  resource_id!: string;
  changes!: AuditChangeDto[];
  /** `X-Request-Id` of the request. Null for changes by the service itself. */
  request_id!: string | null;
  created_at!: Date;
}

export class AuditLogPageDto extends PageOf(AuditEntryDto) {}

export const toAuditEntryDto = viewOf(AuditEntryDto);

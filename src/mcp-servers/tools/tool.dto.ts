import { ApiProperty } from '@nestjs/swagger';
import { AnyJsonObject } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import type { ToolEntity } from './tool.entity';

/** By name unless another sort is asked for. */
export class ToolListQueryDto extends NamedListQueryDto {}

/** A tool that an MCP server offers. */
export class ToolDto {
  /** Stays, also where the tool goes and returns. */
  tool_id!: string;
  server_id!: string;
  org_id!: string;
  workspace_id!: string;
  name!: string;
  title!: string | null;
  description!: string | null;
  @AnyJsonObject()
  input_schema!: object;
  @AnyJsonObject({ nullable: true })
  output_schema!: object | null;
  @AnyJsonObject({ nullable: true })
  annotations!: object | null;
  /** SHA-256 over the canonical JSON (RFC 8785) of name, title, description, schemas and annotations. */
  digest!: string;
  /** Raised by every change; the ETag. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  generation!: number;
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  /** When the server, or its listing of the tool, ended; null while it offers it. */
  archived_at!: Date | null;
}

export class ToolPageDto {
  items!: ToolDto[];
  page!: PageMetaDto;
}

export const toToolDto = (row: ToolEntity): ToolDto => ({
  tool_id: row.tool_id,
  server_id: row.server_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  name: row.name,
  title: row.title,
  description: row.description,
  input_schema: row.input_schema,
  output_schema: row.output_schema,
  annotations: row.annotations,
  digest: row.digest,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});

import { ApiProperty } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import { AnyJsonObject, IsJsonObject } from '#platform/http';
import { NamedListQueryDto, PageMetaDto } from '#platform/paging';
import { IsFilter, pick, PLACED_FIELDS, PlacedDto } from '../../resources';
import type { ToolEntity } from './tool.entity';

/** The most tools that a request may declare. */
export const TOOLS_MAX = 1_000;
/** The most tools that a server may list, and a package may have. */
export const LISTED_TOOLS_MAX = 10_000;
export const TOOL_NAME_MAX = 255;
/** Longest description, in characters. */
export const TOOL_DESCRIPTION_MAX = 32_768;
/** Largest schema or annotations of a tool, in bytes of JSON. */
export const TOOL_OBJECT_MAX_BYTES = 256 * 1024;

/**
 * A tool as its server lists it. The schemas may also have their names in the Model Context Protocol, so that you can send
 * what a server listed. Other members of the protocol are not stored. `toolFaults` validates it.
 */
export class GivenToolDto {
  /** Unique among the tools of the server. */
  @IsString()
  @ApiProperty({ minLength: 1, maxLength: TOOL_NAME_MAX })
  name!: string;

  @IsString()
  @ApiProperty({ maxLength: TOOL_NAME_MAX, nullable: true, required: false, type: String })
  title?: string | null;

  @IsString()
  @ApiProperty({ maxLength: TOOL_DESCRIPTION_MAX, nullable: true, required: false, type: String })
  description?: string | null;

  /** A JSON Schema of the arguments. Exactly one of `input_schema` and `inputSchema` is required. */
  @IsJsonObject({ required: false })
  input_schema?: object;

  /** The name of `input_schema` in the Model Context Protocol. */
  @IsJsonObject({ required: false })
  inputSchema?: object;

  /** A JSON Schema of the structured result. */
  @IsJsonObject({ required: false, nullable: true })
  output_schema?: object | null;

  /** The name of `output_schema` in the Model Context Protocol. Send only one of them. */
  @IsJsonObject({ required: false, nullable: true })
  outputSchema?: object | null;

  /** The hints of the Model Context Protocol on what the tool does. */
  @IsJsonObject({ required: false, nullable: true })
  annotations?: object | null;
}

/** The default sort is `name`. */
export class ToolListQueryDto extends NamedListQueryDto {
  /** The name, exactly. */
  @IsFilter(TOOL_NAME_MAX)
  name?: string;
}

/** A tool of an MCP server. It is archived when the server stops listing it, or is archived. */
export class ToolDto extends PlacedDto {
  /** Stays the same when the tool disappears and comes back. */
  tool_id!: string;
  server_id!: string;
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
  /** The number of the newest version. */
  @ApiProperty({ type: 'integer', format: 'int32', minimum: 1 })
  version_ordinal!: number;
  version_id!: string;
}

export class ToolPageDto {
  items!: ToolDto[];
  page!: PageMetaDto;
}

const FIELDS = [
  'tool_id',
  'server_id',
  'name',
  'title',
  'description',
  'input_schema',
  'output_schema',
  'annotations',
  'digest',
  'version_ordinal',
  'version_id',
  ...PLACED_FIELDS,
] as const;

export const toToolDto = (row: ToolEntity): ToolDto => pick(row, FIELDS);

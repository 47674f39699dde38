import { ApiProperty } from '@nestjs/swagger';
import { IsString } from 'class-validator';
import { AnyJsonObject, IsJsonObject, viewOf } from '#platform/http';
import { NamedListQueryDto, PageOf } from '#platform/paging';
import { IsFilter, PlacedDto } from '../../resources';

/** The maximum number of tools in a request. */
export const TOOLS_MAX = 1_000;
/** The maximum number of tools that a server can list, and that a package can contain. */
export const LISTED_TOOLS_MAX = 10_000;
export const TOOL_NAME_MAX = 255;
/** The maximum length of a description, in characters. */
export const TOOL_DESCRIPTION_MAX = 32_768;
/** The maximum size of each schema of a tool and of its annotations, in bytes of JSON. */
export const TOOL_OBJECT_MAX_BYTES = 256 * 1024;

/**
 * A tool, as its server lists it. The schemas can also have their names in the Model Context Protocol, so that you can
 * send a tool as a server listed it. Other members of the protocol are not stored.
 */
export class DeclaredToolDto {
  // `toolFaults` validates the members, so they have no decorators of their limits.

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

  /** Hints about the behaviour of the tool, as in the Model Context Protocol. */
  @IsJsonObject({ required: false, nullable: true })
  annotations?: object | null;
}

/** The default sort is `name`. */
export class ToolListQueryDto extends NamedListQueryDto {
  /** Only the tool with exactly this name. */
  @IsFilter(TOOL_NAME_MAX)
  name?: string;
}

/** A tool of an MCP server. It is archived when the server stops listing it, or is archived. */
export class ToolDto extends PlacedDto {
  /** Stays the same if the tool disappears and reappears. */
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

export class ToolPageDto extends PageOf(ToolDto) {}

export const toToolDto = viewOf(ToolDto);

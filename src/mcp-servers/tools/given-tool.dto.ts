import { ApiProperty } from '@nestjs/swagger';
import { AnyJsonObject } from '#platform/http';

/** Tools that one server is taken to offer. */
export const TOOLS_MAX = 1_000;
export const TOOL_NAME_MAX = 255;
export const TOOL_DESCRIPTION_MAX = 10_000;

/**
 * A tool, as a server tells of it. Its schemas may have the names that they have in the Model Context Protocol, so that what
 * a server listed can be given as it came; other members of the protocol are not kept. Its form is checked by `toolFaults`.
 */
export class GivenToolDto {
  /** No other tool of the server has it. */
  @ApiProperty({ minLength: 1, maxLength: TOOL_NAME_MAX })
  name!: string;

  @ApiProperty({ maxLength: TOOL_NAME_MAX, nullable: true, required: false, type: String })
  title?: string | null;

  @ApiProperty({ maxLength: TOOL_DESCRIPTION_MAX, nullable: true, required: false, type: String })
  description?: string | null;

  /** A JSON Schema of its arguments. Either this or `inputSchema` is required, and not both. */
  @AnyJsonObject({ required: false })
  input_schema?: object;

  /** `input_schema`, as the Model Context Protocol spells it. */
  @AnyJsonObject({ required: false })
  inputSchema?: object;

  /** A JSON Schema of its structured result. */
  @AnyJsonObject({ required: false, nullable: true })
  output_schema?: object | null;

  /** `output_schema`, as the Model Context Protocol spells it; not both. */
  @AnyJsonObject({ required: false, nullable: true })
  outputSchema?: object | null;

  /** Hints on what it does, as the Model Context Protocol has them. */
  @AnyJsonObject({ required: false, nullable: true })
  annotations?: object | null;
}

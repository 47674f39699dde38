import { IsOptionalText } from '#platform/http';

export class OpenApiQueryDto {
  /** The id of an operation: the document then has only this operation, and the components that it uses. */
  @IsOptionalText(255)
  operation?: string;
}

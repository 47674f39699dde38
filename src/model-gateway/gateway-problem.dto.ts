import { ApiProperty } from '@nestjs/swagger';
import { ProblemDto } from '#platform/problem';

/** The part of a problem that OpenAI's and Anthropic's clients read. */
export class GatewayErrorDto {
  /** The `detail` of the problem. */
  message!: string;
  /** The error type in the format of the operation, such as `invalid_request_error`. */
  type!: string;
  /** The `code` of the problem, or `insufficient_quota` for an exhausted budget. */
  code!: string;
  @ApiProperty({ type: 'null' })
  param!: null;
}

/** A problem of the model gateway. */
export class GatewayProblemDto extends ProblemDto {
  error!: GatewayErrorDto;
  /** Only at `/model/v1/messages`, where Anthropic's client expects it. */
  @ApiProperty({ enum: ['error'], required: false })
  type?: 'error';
}

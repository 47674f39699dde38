import { IsString, Length } from 'class-validator';
import { NotNull } from '#platform/http';
import { NAME_MAX } from '../semantics/figure.parser';
import { AttributePairs, toAttributeFilters } from './attribute-query';
import { type Condition, ofAttribute } from './record-list.repository';
import { TimedListQueryDto } from './timed-query.dto';

/** Query parameters by which lists of logs and of metrics are narrowed. All that are given must hold. */
export class RecordListQueryDto extends TimedListQueryDto {
  /** `service.name` of the resource, compared exactly. */
  @NotNull()
  @IsString()
  @Length(1, NAME_MAX)
  service_name?: string;

  /**
   * `key:value` of an attribute, or of one of the resource. The key ends at the first colon. A text is compared as it is,
   * anything else as JSON writes it (`retry:true`). Repeatable; all must hold.
   */
  @AttributePairs()
  attribute?: string[];
}

/** Each attribute of a query, to be looked for in a record. */
export const attributesOf = ({ attribute }: RecordListQueryDto): Condition[] =>
  (toAttributeFilters(attribute) ?? []).map(ofAttribute);

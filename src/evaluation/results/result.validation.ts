import { validateBody } from '#platform/http';
import { ResultFieldsDto } from './result.dto';

/** Validates one item of a bulk create; throws what is wrong with it. */
export const validateResult = (item: unknown): ResultFieldsDto => validateBody(ResultFieldsDto, item);

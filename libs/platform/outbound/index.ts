export { OutboundHttp, type OutboundLimits } from './outbound-http';
export {
  BlockedAddressError,
  codeOfError,
  InvalidResponseError,
  OutboundError,
  type OutboundFailure,
  outboundFailure,
  RedirectRefusedError,
  ResponseTooLargeError,
} from './outbound-errors';
export { OutboundModule } from './outbound.module';
export { readCapped } from './read-capped';
export { fieldNameFault, fieldValueFault, TRANSPORT_FIELD_FAULT, urlFault } from './registered-target';
export { isForwardableRetryAfter, retryAfterMs } from './retry-after';
export { undici } from './undici';

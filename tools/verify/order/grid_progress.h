// Whether all blocks go on: at the end of the run, what each block waits for is compared with what the others
// bring, for each way through the kernel that they can take together.
#pragma once

#include "order/grid_order.h"
#include "state/event_log.h"
#include "state/part.h"

namespace glove::verify {

// Reports the waits that do not end, or that are not understood.
void check_progress(const Part& run, const EventLog& log, const GridOrder& grid);

}  // namespace glove::verify

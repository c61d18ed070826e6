// The text output of the command, for the tests that need no process.
#include "../../cli/json_lines.cpp"
#include "../../cli/listing.cpp"
#include "../../cli/listing_page.cpp"
#include "../../cli/output.cpp"
#include "../../cli/top_view.cpp"

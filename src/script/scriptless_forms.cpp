#include "script/form.hpp"
namespace holdfast::scripting {
form const* scriptless_form(std::string_view) noexcept { return nullptr; }
}  // namespace holdfast::scripting
